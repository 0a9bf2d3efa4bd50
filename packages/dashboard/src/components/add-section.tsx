import { type ReactNode, useEffect, useRef, useState } from 'react'
import { AddButton } from './add-button.tsx'
import { Section } from './section.tsx'

interface Props {
  title: string
  /** Shown with the form. */
  description?: ReactNode
  /** True if the list is empty: the form is then open. */
  isFirst: boolean
  /** Why the user may not add an entry. */
  refusal: string | undefined
  children: ReactNode
}

/** A form that adds an entry to a list. If the list has entries, a button opens the form. */
export function AddSection({ title, description, isFirst, refusal, children }: Props) {
  const [isOpen, setOpen] = useState(false)
  const elementRef = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (isOpen) elementRef.current?.querySelector<HTMLElement>('input, select, textarea')?.focus()
  }, [isOpen])
  const isShown = isFirst || isOpen
  return (
    <Section
      title={title}
      description={isShown && description}
      actions={!isShown && <AddButton refusal={refusal} onClick={() => setOpen(true)} />}
    >
      {isShown ? <div ref={elementRef}>{children}</div> : undefined}
    </Section>
  )
}
