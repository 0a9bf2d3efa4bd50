import type { BundleFile } from '@berth/contract'
import { type RetryLimits, retryWhileUnreachable } from '../retry-unreachable.ts'
import type { Sides } from './sides.ts'

/** Concurrent files. Each takes at most a few MiB of memory, since files are streamed. */
const maxConcurrent = 3
const fileLimitMs = 5 * 60_000

/** Copies the files that the target does not have yet; an interrupted file is sent again. */
export async function copyFiles(
  files: readonly BundleFile[],
  has: readonly string[],
  { source, target }: Sides,
  retryLimits: RetryLimits,
  abort: AbortSignal,
  onFile: (sizeBytes: number) => void,
): Promise<void> {
  const existing = new Set(has)
  for (const { name, sizeBytes } of files) if (existing.has(name)) onFile(sizeBytes)
  const missing = files.filter(({ name }) => !existing.has(name)).values()
  const stop = new AbortController()
  const ended = AbortSignal.any([abort, stop.signal])
  const copy = async () => {
    for (const file of missing) {
      // An aborted call looks like an unreachable cloud, but is not retried.
      await retryWhileUnreachable(() => copyOne(file, { source, target }, ended), retryLimits, ended)
      onFile(file.sizeBytes)
    }
  }
  const lanes = Array.from({ length: maxConcurrent }, () =>
    copy().catch((error: unknown) => {
      stop.abort(error)
      throw error
    }),
  )
  const results = await Promise.allSettled(lanes)
  abort.throwIfAborted()
  for (const result of results) if (result.status === 'rejected') throw stop.signal.reason
}

async function copyOne(file: BundleFile, { source, target }: Sides, parentAbort: AbortSignal): Promise<void> {
  const abort = AbortSignal.any([parentAbort, AbortSignal.timeout(fileLimitMs)])
  await target.write(file, await source.read(file.name, abort), abort)
}
