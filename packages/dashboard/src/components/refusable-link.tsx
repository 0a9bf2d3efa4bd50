import type { ButtonProps } from '@mantine/core'
import { ActionButton } from './action-button.tsx'
import { ButtonLink } from './router-link.tsx'

/** A link as a button; grey with its reason where what it leads to may not be done. */
export function RefusableLink({ to, refusal, ...rest }: ButtonProps & { to: string; refusal?: string | undefined }) {
  return refusal ? <ActionButton refusal={refusal} {...rest} /> : <ButtonLink to={to} {...rest} />
}
