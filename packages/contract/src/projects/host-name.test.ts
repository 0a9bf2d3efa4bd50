import { expect, test } from 'vitest'
import { hostNameIn } from './host-name.ts'

test('a pasted address becomes its host name; anything else is left to the API', () => {
  expect(hostNameIn(' https://Shop.Example.com/cart?a=b#c ')).toBe('shop.example.com')
  expect(hostNameIn('shop.example.com.')).toBe('shop.example.com')
  expect(hostNameIn('shop.example.com:8080')).toBe('shop.example.com:8080')
  expect(hostNameIn('*.example.com')).toBe('*.example.com')
})
