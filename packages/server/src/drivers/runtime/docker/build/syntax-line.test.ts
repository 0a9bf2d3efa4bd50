import { expect, test } from 'vitest'
import { withLocalSyntaxImage } from './syntax-line.ts'

const text = '# syntax=docker/dockerfile:1.7\nFROM a\nRUN --mount=type=cache,target=/x y\n'
const missing = async (): Promise<string> => {
  throw new Error('it is at docker.io, which is none of: ghcr.io')
}

test('the Dockerfile frontend comes from the configured registry', async () => {
  const requested: string[] = []
  const findImage = async (image: string) => `mirror.local/${requested.push(image) && image}`
  const here = await withLocalSyntaxImage(text, { findImage, isNeeded: false, report: () => undefined })
  expect(here).toBe(text.replace('docker/dockerfile:1.7', 'mirror.local/docker/dockerfile:1.7'))
  expect(requested).toEqual(['docker/dockerfile:1.7'])
})

test('without the frontend the engine parses the file itself, with a warning, unless it cannot', async () => {
  const output: string[] = []
  const own = await withLocalSyntaxImage(text, { findImage: missing, isNeeded: false, report: (line) => output.push(line) })
  expect(own).toBe(text.replace(/^.*$/m, '#'))
  expect(output).toEqual([expect.stringContaining('none of: ghcr.io')])
  await expect(withLocalSyntaxImage(text, { findImage: missing, isNeeded: true, report: () => undefined })).rejects.toThrow(
    'docker.io',
  )
})

test.each(['FROM a\n# syntax=docker/dockerfile:1\n', 'FROM a\n'])('a later comment is not a syntax line: %j', async (other) => {
  expect(await withLocalSyntaxImage(other, { findImage: missing, isNeeded: true, report: () => undefined })).toBe(other)
})
