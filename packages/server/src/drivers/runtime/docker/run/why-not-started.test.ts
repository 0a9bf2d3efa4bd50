import { expect, test } from 'vitest'
import { whyNotStarted } from './why-not-started.ts'

const init =
  'failed to create task for container: OCI runtime create failed: runc create failed: unable to start container process: '

test.each([
  [
    `${init}error during container init: exec: "serve": executable file not found in $PATH: unknown`,
    /^The command `serve` does not exist/,
  ],
  [`${init}exec: "/app/run": stat /app/run: no such file or directory: unknown`, /^The command `\/app\/run` does not exist/],
  [`${init}exec: "./run.sh": permission denied: unknown`, /^The command `\.\/run\.sh` is not executable/],
  ['port is already allocated', /^It could not be started: port is already allocated$/],
])('%s', (words, text) => {
  expect(whyNotStarted(words)).toMatch(text)
})
