import type { ReactNode } from 'react'
import { errorText } from '../text/error-text.ts'

export interface Notice {
  id: number
  title?: string
  message: ReactNode
  tone: 'plain' | 'bad'
  /** An action that is offered beside the message. */
  action?: { label: string; act(): void }
  durationMs: number
}

let notices: readonly Notice[] = []
let nextId = 1
const listeners = new Set<() => void>()
const maxNotices = 4

function set(next: readonly Notice[]) {
  notices = next
  for (const listener of listeners) listener()
}

export const noticeStore = {
  subscribe(listener: () => void) {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  },
  get: () => notices,
}

export const hideNotice = (id: number) => set(notices.filter((one) => one.id !== id))

/** Shows a notice in the corner of the page for a while. */
export function show(notice: Partial<Notice> & Pick<Notice, 'message'>) {
  set([...notices, { tone: 'plain', durationMs: 5000, ...notice, id: nextId++ } as Notice].slice(-maxNotices))
}

export const report = (message: string) => show({ message })

export const showError = (error: unknown) => show({ ...errorText(error), tone: 'bad', durationMs: 12_000 })

/** Shows a notice about a completed action with an undo button. */
export const offerUndo = (message: string, undo: () => void) =>
  show({ message, durationMs: 9000, action: { label: 'Undo', act: undo } })
