import { Slug } from '@berth/contract'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { candidateSlugs, randomSlug, slugFrom } from './slug.ts'

const form = new RegExp((Slug as unknown as { pattern: string }).pattern)

describe('a slug made from a name', () => {
  test.each([
    ['My Shop', 'my-shop'],
    ['  --Wild__Name!!  ', 'wild-name'],
    ['Crème Brûlée', 'creme-brulee'],
    ['ﬁve № 5', 'five-no-5'],
    ['日本', null],
    ['!!!', null],
  ])('%j becomes %j', (name, slug) => expect(slugFrom(name)).toBe(slug))

  test('is always valid for the contract, also with its unique suffix', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (name) => {
        const slug = slugFrom(name)
        if (slug === null) return
        for (const made of [...candidateSlugs(slug), randomSlug(slug)]) {
          expect(made).toMatch(form)
          expect(made.length).toBeLessThanOrEqual(63)
        }
      }),
    )
  })
})
