import { expect, test } from 'vitest'
import { normalMountPath } from '../../mount-path.ts'
import { reservedPaths } from '../sandbox/bubblewrap.ts'
import { refuseReserved } from './mount-path.ts'

const app = '/srv/app'
const refused = (path: string) => {
  try {
    refuseReserved(normalMountPath(path), [...reservedPaths({}), app])
    return null
  } catch (error) {
    return (error as Error).message
  }
}

test.each([
  ...[
    '/',
    '//',
    '/usr',
    '/usr/',
    '/usr/share/data',
    '/bin',
    '/lib64',
    '/etc',
    '/etc/app',
    '/proc',
    '/proc/1',
    '/dev/shm',
    '/sys',
  ],
  ...['/tmp', '/run', '/run/berth', '/run/berth/volumes/x', '/run//berth', '/nix', '/srv', app, `${app}/data`],
])('a volume at %s is refused', (path) => {
  expect(refused(path)).toContain(`cannot be mounted at ${normalMountPath(path)}:`)
})

test.each(['/data', '/data/', '/app/data', '/var/lib/app', '/run/app', '/usr2', '/etcetera', '/home/app', '/srv/apple'])(
  'a volume at %s is mounted',
  (path) => {
    expect(refused(path)).toBeNull()
  },
)
