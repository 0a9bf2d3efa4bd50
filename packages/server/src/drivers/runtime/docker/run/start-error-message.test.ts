import { expect, test } from 'vitest'
import { startErrorMessage } from './start-error-message.ts'

const init =
  'failed to create task for container: OCI runtime create failed: runc create failed: unable to start container process: '

test.each([
  [
    `${init}error during container init: exec: "serve": executable file not found in $PATH: unknown`,
    /^The command `serve` does not exist/,
  ],
  [`${init}exec: "/app/run": stat /app/run: no such file or directory: unknown`, /^The command `\/app\/run` does not exist/],
  [`${init}exec: "./run.sh": permission denied: unknown`, /^The command `\.\/run\.sh` is not executable/],
  [
    `${init}error mounting "/srv/docker/volumes/vol_1/_data" to rootfs at "/etc/passwd": mount /srv/docker/volumes/vol_1/_data:/etc/passwd: not a directory`,
    /error mounting "\[the engine's folder\]" to rootfs at "\/etc\/passwd": mount \[the engine's folder\]:\/etc\/passwd: not a directory$/,
  ],
  [
    `stat /tmp/docker/exec/moby/${'8b'.repeat(32)}/tmpfs: no such file or directory`,
    /^The container could not be started: stat \[the engine's folder\]: no such file/,
  ],
  [
    `source /srv/docker/overlay2/${'d6'.repeat(32)}/merged/etc/passwd is not directory`,
    /^The container could not be started: source \/etc\/passwd is not directory$/,
  ],
  ['port is already allocated', /^The container could not be started: port is already allocated$/],
])('%s', (message, text) => {
  expect(startErrorMessage(message)).toMatch(text)
})
