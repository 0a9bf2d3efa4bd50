import { ApiError } from '@berth/contract/client'
import { useState } from 'react'

/** Whether a sign-in form shows the field for a code: not before the server has required one. */
export function useSecondFactor() {
  const [isNeeded, setIsNeeded] = useState(false)
  return {
    isNeeded,
    noteError: (error: unknown) => {
      if (isRequired(error)) setIsNeeded(true)
    },
    /** The field itself shows that the code is needed. */
    errorToShow: (error: unknown) => (isRequired(error) ? null : error),
  }
}

const isRequired = (error: unknown): boolean => error instanceof ApiError && error.code === 'second_factor_required'

export const secondFactorField = (name: string) => ({
  name,
  label: 'Code',
  kind: 'code' as const,
  autoComplete: 'one-time-code',
  description: 'The code of your authenticator app, or a recovery code',
})
