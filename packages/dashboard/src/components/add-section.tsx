import { IconPlus } from '@tabler/icons-react'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { ActionButton } from './action-button.tsx'
import { Section } from './section.tsx'

interface Props {
  title: string
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
  const open = (
    <ActionButton
      size="xs"
      variant="default"
      refusal={refusal}
      leftSection={<IconPlus size={14} />}
      onClick={() => setOpen(true)}
    >
      Add…
    </ActionButton>
  )
  return (
    <Section title={title} description={isShown && description} actions={!isShown && open}>
      {isShown ? <div ref={elementRef}>{children}</div> : undefined}
    </Section>
  )
}
