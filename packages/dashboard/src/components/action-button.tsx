import { Button, type ButtonProps } from '@mantine/core'
import type { MouseEvent } from 'react'
import { Hint } from './hint.tsx'

interface Props extends ButtonProps {
  /** Why it cannot be used now; it stays reachable by keyboard, so that everybody can learn why. */
  refusal?: string | undefined
  onClick?: (event: MouseEvent<HTMLButtonElement>) => void
  type?: 'button' | 'submit'
  form?: string
  'aria-label'?: string
}

/** A button that is grey for a reason, and says the reason. */
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
