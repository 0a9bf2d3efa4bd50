import type { FormEvent } from 'react'

/** What a form does in place of leaving the page. */
export const submitting = (act: () => unknown) => (event: Pick<FormEvent, 'preventDefault'>) => {
  event.preventDefault()
  act()
}
