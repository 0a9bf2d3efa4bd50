import type { ButtonProps } from '@mantine/core'
import { ActionButton } from './action-button.tsx'
import { ButtonLink } from './router-link.tsx'

/** A link that looks like a button. With a refusal it is disabled and shows the reason. */
export function RefusableLink({ to, refusal, ...rest }: ButtonProps & { to: string; refusal?: string | undefined }) {
  return refusal ? <ActionButton refusal={refusal} {...rest} /> : <ButtonLink to={to} {...rest} />
}
