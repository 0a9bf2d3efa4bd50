import { expect, test } from 'vitest'
import { frameworkLook } from './framework-look.ts'

test('every project has an icon: of its framework, of its services, or of its letters', () => {
  expect(frameworkLook('django', 'app')).toEqual({ shape: 'circle', letters: 'Dj', hue: 160 })
  expect(frameworkLook(null, 'services').shape).toBe('stack')
  expect(frameworkLook('zola', 'static')).toMatchObject({ shape: 'page', letters: 'Zo' })
  expect(frameworkLook('zola', 'static')).toEqual(frameworkLook('zola', 'static'))
  expect(frameworkLook(undefined, null).letters).toBe('…')
})
