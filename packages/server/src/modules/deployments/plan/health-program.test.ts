import { expect, test } from 'vitest'
import { readCompose, toProjectServices } from '../../../source/compose/index.ts'
import { healthProgramOf } from './health-program.ts'

const written = (healthcheck: string) => {
  const file = readCompose(`services:\n  db:\n    image: db\n    healthcheck: ${healthcheck}`, { folder: '/project' })
  return healthProgramOf(toProjectServices(file).services[0]?.healthcheck)
}

test('a health check of a Compose file is a program with arguments or a shell command', () => {
  expect(written('{ test: ["CMD", "pg_isready", "-U", "me"] }')?.argv).toEqual(['pg_isready', '-U', 'me'])
  expect(written('{ test: ["CMD-SHELL", "pg_isready || exit 1"] }')?.argv).toEqual(['/bin/sh', '-c', 'pg_isready || exit 1'])
  expect(written('{ test: redis-cli ping }')?.argv).toEqual(['/bin/sh', '-c', 'redis-cli ping'])
})

test('a health check of the create body is read the same way', () => {
  expect(healthProgramOf({ test: ['CMD', 'true'] })?.argv).toEqual(['true'])
  expect(healthProgramOf({ test: ['CMD-SHELL', 'true || false'] })?.argv).toEqual(['/bin/sh', '-c', 'true || false'])
})

test('an empty or unusable health program is ignored', () => {
  expect(written('{ interval: 5s }')).toBeUndefined()
  for (const none of [null, undefined, {}, { test: [] }, { test: ['CMD'] }, { test: 7 }])
    expect(healthProgramOf(none)).toBeUndefined()
})

test('a disabled health check disables that of the image', () => {
  for (const none of ['{ disable: true }', '{ test: ["NONE"] }']) expect(written(none)).toBeNull()
  expect(healthProgramOf({ test: ['NONE'] })).toBeNull()
})

test('the time limit is the sum of interval, retries and start period, at most ten minutes', () => {
  const check = '{ test: x, interval: 2s, timeout: 3s, retries: 4, start_period: 10s }'
  expect(written(check)).toMatchObject({ timeoutSeconds: 3, withinSeconds: 30 })
  expect(written('{ test: x }')).toMatchObject({ timeoutSeconds: 30, withinSeconds: 180 })
  expect(written('{ test: x, start_period: 1h }')).toMatchObject({ withinSeconds: 600 })
})
