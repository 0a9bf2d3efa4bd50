import { expect, test } from 'vitest'
import { lockfileHint } from './outdated-lockfile.ts'

test.each([
  [
    'npm error `npm ci` can only install packages when your package.json and package-lock.json or npm-shrinkwrap.json are in sync. Please update your lock file with `npm install` before continuing.',
    'npm install',
  ],
  ['[ERR_PNPM_OUTDATED_LOCKFILE] Cannot install with "frozen-lockfile" because pnpm-lock.yaml is not up to date', 'pnpm install'],
  ['error Your lockfile needs to be updated, but yarn was run with `--frozen-lockfile`.', 'yarn install'],
  ['➤ YN0028: │ The lockfile would have been modified by this install, which is explicitly forbidden.', 'yarn install'],
  ['error: lockfile had changes, but lockfile is frozen', 'bun install'],
])('%s', (line, repair) => expect(lockfileHint(line)).toContain(`Run \`${repair}\``))

test('other lines have no hint', () => expect(lockfileHint('npm warn old lockfile')).toBeNull())
