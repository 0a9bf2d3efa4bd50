import { useHotkeys } from '@mantine/hooks'
import { lazy, Suspense } from 'react'
import { openCommands, useCommandsOpen } from './command-state.ts'

const CommandPalette = lazy(async () => ({ default: (await import('./command-palette.tsx')).CommandPalette }))

/** `/` and Ctrl+K; the palette itself is fetched when it is first opened. */
export function CommandKeys() {
  const isOpen = useCommandsOpen()
  useHotkeys([
    ['/', openCommands],
    ['mod+K', openCommands],
  ])
  return <Suspense fallback={null}>{isOpen && <CommandPalette />}</Suspense>
}
