import { expect } from 'vitest'
import type { ComposeService } from './model.ts'
import { type ReadComposeOptions, readCompose } from './read-compose.ts'

/** Helpers for the tests of this folder. */

export const read = (text: string, options: Partial<ReadComposeOptions> = {}) =>
  readCompose(text, { folder: '/srv/shop', ...options })

/** A file with one service `web` of these fields. */
export const web = (fields: string, options: Partial<ReadComposeOptions> = {}, rest = '') => {
  const lines = fields.trim().split('\n')
  const file = read(`services:\n  web:\n    image: nginx\n${lines.map((line) => `    ${line}`).join('\n')}\n${rest}`, options)
  return { ...file, web: file.services[0]! }
}

/** Asserts that the fields give this service, without warnings, refusals or missing variables. */
export const gives = (fields: string, expected: Partial<ComposeService>, options: Partial<ReadComposeOptions> = {}) => {
  const file = web(fields, options)
  expect(file.web).toMatchObject(expected)
  expect({ warnings: file.warnings, refused: file.refused, missing: file.missing }).toEqual({
    warnings: [],
    refused: [],
    missing: [],
  })
}
