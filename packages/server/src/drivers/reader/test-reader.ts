// A reader that misbehaves on purpose; the folder name selects how.
import { setTimeout as pause } from 'node:timers/promises'
import type { ReaderRequest, Reply, Tasks } from './messages.ts'

const harm: Record<string, () => unknown> = {
  '/spin': () => {
    for (;;);
  },
  '/regexp': () => /^(a+)+$/.test(`${'a'.repeat(60)}b`),
  '/heap': () => {
    const kept: unknown[] = []
    for (;;) kept.push(Array.from({ length: 1000 }, Math.random))
  },
  // One step that no thread survives.
  '/one-large-array': () => 'a,'.repeat(100_000_000).split(','),
  '/deep': () => {
    const down = (): number => 1 + down()
    return down()
  },
  '/exit': () => process.exit(3),
  '/wait': () => pause(60_000),
}

process.on('message', async ({ input: requested }: ReaderRequest) => {
  const { folder } = requested as Tasks['detect']['input']
  try {
    await harm[folder]?.()
    process.send?.({ type: 'done', answer: { name: String(process.pid) } } satisfies Reply)
  } catch (error) {
    process.send?.({ type: 'failed', name: (error as Error).name, message: (error as Error).message } satisfies Reply)
  }
})
process.on('disconnect', () => process.exit())
