import { IconPlus } from '@tabler/icons-react'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { ActionButton } from './action-button.tsx'
import { Section } from './section.tsx'

interface Props {
  title: string
  description?: ReactNode
  /** There is none yet: the form is what people came for. */
  isFirst: boolean
  /** Why this person may not add one. */
  refusal: string | undefined
  children: ReactNode
}

/** The form for one more; where there are some already it waits behind a button, so that the page is about those. */
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
