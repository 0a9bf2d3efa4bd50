import type { AnyRoute, ReplyOf } from '@berth/contract'
import type { CallInput } from '@berth/contract/client'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { call } from './client.ts'
import { report, showError } from './notices.tsx'
import { refresh } from './refresh.ts'

interface Options<T extends AnyRoute> {
  /** Routes whose reads are repeated after success. */
  refreshes?: readonly AnyRoute[]
  /** The notice shown after success. */
  successMessage?: string | ((reply: ReplyOf<T>) => string)
  /** The form shows the error itself. */
  hidesErrorNotice?: boolean
}

/** A write to the API. An error is shown with the server's message. */
export function useChange<T extends AnyRoute>(route: T, { refreshes = [], successMessage, hidesErrorNotice }: Options<T> = {}) {
  const queries = useQueryClient()
  return useMutation<ReplyOf<T>, Error, CallInput<T>>({
    mutationFn: (input) => call(route as AnyRoute, input) as Promise<ReplyOf<T>>,
    onSuccess: async (reply) => {
      if (successMessage) report(typeof successMessage === 'string' ? successMessage : successMessage(reply))
      await refresh(queries, ...refreshes)
    },
    onError: (error) => {
      if (!hidesErrorNotice) showError(error)
    },
  })
}
