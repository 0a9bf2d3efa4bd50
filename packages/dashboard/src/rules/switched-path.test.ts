import { expect, test } from 'vitest'
import { switchedPath } from './switched-path.ts'

test('switching to another project stays on the same page', () => {
  expect(switchedPath('/projects/a/env', 'b')).toBe('/projects/b/env')
  expect(switchedPath('/projects/a', 'b')).toBe('/projects/b')
  expect(switchedPath('/projects/a/deployments/dep_1', 'b')).toBe('/projects/b/deployments')
})
