import { type ReactNode, useId, useRef } from 'react'
import classes from './hint.module.css'

interface Props {
  text: string
  /** Receives the id of the tooltip, for `aria-describedby`. */
  children(id: string): ReactNode
}

const marginPx = 8

/** A tooltip, shown while its content is hovered or focused, or after a tap. It uses the browser's popover, which no container clips. */
export function Hint({ text, children }: Props) {
  const id = useId()
  const label = useRef<HTMLSpanElement>(null)
  const elementRef = useRef<HTMLSpanElement>(null)
  const open = () => {
    const bubble = label.current
    const box = elementRef.current?.getBoundingClientRect()
    if (!bubble || !box || bubble.matches(':popover-open')) return
    bubble.showPopover()
    const { width, height } = bubble.getBoundingClientRect()
    const left = Math.min(box.left + box.width / 2 - width / 2, window.innerWidth - width - marginPx)
    const isBelow = box.bottom + height + marginPx < window.innerHeight
    bubble.style.left = `${Math.max(marginPx, left)}px`
    bubble.style.top = `${isBelow ? box.bottom + 6 : box.top - height - 6}px`
  }
  const close = () => label.current?.matches(':popover-open') && label.current.hidePopover()
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keyboard opens it by focus
    // biome-ignore lint/a11y/noStaticElementInteractions: it only shows a text that screen readers get by aria-describedby
    <span
      ref={elementRef}
      className={classes.container}
      onPointerEnter={open}
      onPointerLeave={close}
      onFocus={open}
      onBlur={close}
      onClick={open}
    >
      {children(id)}
      <span ref={label} id={id} role="tooltip" popover="auto" className={classes.text}>
        {text}
      </span>
    </span>
  )
}
