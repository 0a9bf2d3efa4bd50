import { useHotkeys } from '@mantine/hooks'
import { Suspense } from 'react'
import { lazyPart } from '../components/lazy-part.ts'
import { openCommands, useCommandsOpen } from './command-state.ts'

const CommandPalette = lazyPart(() => import('./command-palette.tsx'), 'CommandPalette')

/** Opens the command palette with `/` or Ctrl+K. Its code is loaded when it is first opened. */
export function CommandKeys() {
  const isOpen = useCommandsOpen()
  useHotkeys([
    ['/', openCommands],
    ['mod+K', openCommands],
  ])
  return <Suspense fallback={null}>{isOpen && <CommandPalette />}</Suspense>
}
