import { setTimeout as pause } from 'node:timers/promises'
import type { Container } from 'dockerode'
import { callEngine, engineMessage, statusOf } from '../engine.ts'

type Archive = Parameters<Container['putArchive']>[0]

export interface SendOptions {
  abort: AbortSignal
  timeoutMs?: number
}

const maxAttempts = 3
const retryMs = 200

/**
 * Unpacks a tar in a folder of a container. Docker sometimes takes the container's file system away while it enters it, when
 * another request ends at the same moment. Nothing was unpacked then, so the archive is opened and sent again.
 */
export async function sendArchive(
  container: Pick<Container, 'putArchive'>,
  path: string,
  open: () => Archive | Promise<Archive>,
  { abort, timeoutMs }: SendOptions,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const archive = await open()
    try {
      await callEngine((abortSignal) => container.putArchive(archive, { path, abortSignal }), {
        abort,
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
      })
      return
    } catch (error) {
      if (!lostFileSystem(error) || attempt === maxAttempts) throw error
      await pause(retryMs, undefined, { signal: abort })
    }
  }
}

const lostFileSystem = (error: unknown): boolean =>
  statusOf(error) === 500 && /chroot: no such file or directory/.test(engineMessage(error))
