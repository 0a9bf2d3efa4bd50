import { expect, test } from 'vitest'
import { applicableWarnings } from './detection-warnings.ts'

test('a start command in the settings removes only the warning about a missing start command', () => {
  const other = 'there is no lockfile of npm; two installs may differ'
  const missing = [
    'no start command was found: add a start script or set the start command',
    'no build or start command was found: add a Dockerfile, or set the start command',
  ]
  expect(applicableWarnings([other, ...missing], 'node app.js')).toEqual([other])
  expect(applicableWarnings([other, ...missing], null)).toEqual([other, ...missing])
})
