import { expect, test } from 'vitest'
import { withLocalBaseImages } from './dockerfile-bases.ts'

const inMirror = async (image: string) => `mirror.test/${image}`
const rewritten = (text: string, given: Record<string, string> = {}) => withLocalBaseImages(text, given, inMirror)

test('a base image is replaced by its mirror name, with any options on its line', async () => {
  expect(await rewritten('# app\nFROM node:24\nRUN npm ci')).toBe('# app\nFROM mirror.test/node:24\nRUN npm ci')
  expect(await rewritten('from --platform=linux/amd64 node:24 as Build')).toBe(
    'from --platform=linux/amd64 mirror.test/node:24 as Build',
  )
})

test('stages and scratch are not replaced', async () => {
  const text = 'FROM node:24 AS build\nFROM Build AS test\nFROM scratch\nCOPY --from=build /app /app'
  expect(await rewritten(text)).toBe(text.replace('node:24', 'mirror.test/node:24'))
})

test('arguments before the first stage are substituted; a build argument overrides the default', async () => {
  const text = `ARG VERSION=24\nARG BASE="node:\${VERSION}"\nFROM \${BASE}-slim`
  expect(await rewritten(text)).toContain('\nFROM mirror.test/node:24-slim')
  expect(await rewritten(text, { VERSION: '22' })).toContain('\nFROM mirror.test/node:22-slim')
  expect(await rewritten(`FROM node:\${VERSION:-20}`)).toBe('FROM mirror.test/node:20')
})

test('a name that is known only during the build is unchanged', async () => {
  for (const text of [`FROM \${BASE}`, 'ARG BASE\nFROM $BASE', 'FROM node:24 AS a\nARG BASE=x\nFROM $BASE'])
    expect(await rewritten(text)).toBe(text.replace('node:24', 'mirror.test/node:24'))
})

test('an image with the same local name is unchanged', async () => {
  const text = 'FROM  node:24   AS  build\r\nRUN true\r\n'
  expect(await withLocalBaseImages(text, {}, async (image) => image)).toBe(text)
})
