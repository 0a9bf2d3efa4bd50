import type { FormEvent } from 'react'

/** A submit handler that runs `act` instead of loading a new page. */
export const submitting = (act: () => unknown) => (event: Pick<FormEvent, 'preventDefault'>) => {
  event.preventDefault()
  act()
}
