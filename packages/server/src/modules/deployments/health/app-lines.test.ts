import { expect, test } from 'vitest'
import { lastAppLines } from './app-lines.ts'

const npm = [
  'Error: DATABASE_URL is required',
  '    at main (/app/server.js:3:9)',
  'npm error Lifecycle script `start` failed with error:',
  'npm error code 1',
  'npm error path /app',
  'npm error workspace web@1.0.0',
  'npm error location /app/packages/web',
  'npm error command failed',
  'npm error command sh -c node server.js',
  'npm notice',
  'npm notice New major version of npm available! 10.9.8 -> 11.0.0',
  'npm notice To update run: npm install -g npm@11.0.0',
  'npm error A complete log of this run can be found in: /root/.npm/_logs/debug-0.log',
]

test('a failed start shows the lines of the app without those of npm, pnpm, Yarn and Bun', () => {
  expect(lastAppLines(npm, 20)).toEqual(npm.slice(0, 2))
  expect(lastAppLines(['boom', ' ELIFECYCLE  Command failed with exit code 1.'], 20)).toEqual(['boom'])
  expect(
    lastAppLines(['boom', '   ╭────────────╮', '   │  Update available! 9.1.0 → 10.2.0.   │', '   ╰────────────╯'], 20),
  ).toEqual(['boom'])
  expect(
    lastAppLines(
      ['boom', 'error Command failed with exit code 1.', 'info Visit https://y.example for documentation about this command.'],
      20,
    ),
  ).toEqual(['boom'])
  expect(lastAppLines(['boom', 'error: script "start" exited with code 1'], 20)).toEqual(['boom'])
})

test('the last lines of the app are kept even if the package manager writes many after them', () => {
  expect(lastAppLines([...Array.from({ length: 30 }, (_, at) => `line ${at}`), ...npm.slice(2)], 3)).toEqual([
    'line 27',
    'line 28',
    'line 29',
  ])
})

test('an error of the package manager is kept, and so are its lines if the app wrote none', () => {
  const missing = [
    'npm error Missing script: "start"',
    'npm error',
    'npm error To see a list of scripts, run:',
    'npm error   npm run',
  ]
  expect(lastAppLines(missing, 20)).toEqual(missing.filter((line) => line !== 'npm error'))
  expect(lastAppLines(npm.slice(2, 4), 20)).toEqual(npm.slice(2, 4))
})
