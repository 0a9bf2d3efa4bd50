import { expect, test } from 'vitest'
import { withLocalBaseImages } from './dockerfile-bases.ts'

const inMirror = async (image: string) => `mirror.test/${image}`
const rewritten = (text: string, given: Record<string, string> = {}) => withLocalBaseImages(text, given, inMirror)

test('a base image is taken from the mirror, whatever else its line says', async () => {
  expect(await rewritten('# app\nFROM node:24\nRUN npm ci')).toBe('# app\nFROM mirror.test/node:24\nRUN npm ci')
  expect(await rewritten('from --platform=linux/amd64 node:24 as Build')).toBe(
    'from --platform=linux/amd64 mirror.test/node:24 as Build',
  )
})

test('a stage and scratch are no images', async () => {
  const text = 'FROM node:24 AS build\nFROM Build AS test\nFROM scratch\nCOPY --from=build /app /app'
  expect(await rewritten(text)).toBe(text.replace('node:24', 'mirror.test/node:24'))
})

test('arguments before the first stage are filled in; one that the build is given wins over its default', async () => {
  const text = `ARG VERSION=24\nARG BASE="node:\${VERSION}"\nFROM \${BASE}-slim`
  expect(await rewritten(text)).toContain('\nFROM mirror.test/node:24-slim')
  expect(await rewritten(text, { VERSION: '22' })).toContain('\nFROM mirror.test/node:22-slim')
  expect(await rewritten(`FROM node:\${VERSION:-20}`)).toBe('FROM mirror.test/node:20')
})

test('a name that only the build knows stays as it is', async () => {
  for (const text of [`FROM \${BASE}`, 'ARG BASE\nFROM $BASE', 'FROM node:24 AS a\nARG BASE=x\nFROM $BASE'])
    expect(await rewritten(text)).toBe(text.replace('node:24', 'mirror.test/node:24'))
})

test('an image with the same name here is not changed', async () => {
  const text = 'FROM  node:24   AS  build\r\nRUN true\r\n'
  expect(await withLocalBaseImages(text, {}, async (image) => image)).toBe(text)
})
