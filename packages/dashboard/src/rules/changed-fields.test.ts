import { expect, test } from 'vitest'
import { asOptional, asTexts, changedFields } from './changed-fields.ts'

test('only what was typed over is sent, so a secret that was not touched stays', () => {
  const before = asTexts({ bucket: 'acme', port: 22, forcePathStyle: true, prefix: null })
  expect(before).toEqual({ bucket: 'acme', port: '22' })
  expect(changedFields(before, { ...before, port: '2222', secretAccessKey: '' })).toEqual({ port: '2222' })
  expect(changedFields(before, { ...before, bucket: '' })).toEqual({})
})

test('no field of an existing object has to be entered again', () => {
  const fields = asOptional([
    { name: 'bucket', label: 'Bucket', placeholder: 'acme' },
    { name: 'key', label: 'Key', isSecret: true },
  ])
  expect(fields.map(({ isOptional, placeholder }) => [isOptional, placeholder])).toEqual([
    [true, 'acme'],
    [true, 'unchanged'],
  ])
})
