import { Button, type ButtonProps } from '@mantine/core'
import type { MouseEvent } from 'react'
import { Hint } from './hint.tsx'

interface Props extends ButtonProps {
  /** Why the button is disabled. It stays focusable, so that keyboard users can read the reason. */
  refusal?: string | undefined
  onClick?: (event: MouseEvent<HTMLButtonElement>) => void
  type?: 'button' | 'submit'
  form?: string
  'aria-label'?: string
}

/** A button that shows why it is disabled. */
export function ActionButton({ refusal, onClick, type = 'button', ...rest }: Props) {
  if (!refusal) return <Button type={type} onClick={onClick} {...rest} />
  return (
    <Hint text={refusal}>
      {(id) => (
        <Button
          type="button"
          {...rest}
          data-disabled
          aria-disabled
          aria-describedby={id}
          onClick={(event) => event.preventDefault()}
        />
      )}
    </Hint>
  )
}
