import { contract } from '@berth/contract'
import { ApiError } from '@berth/contract/client'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { call } from '../client.ts'

const sessionKey = ['session']

/** The session, or null when nobody is signed in. */
export const useSession = () =>
  useQuery({
    queryKey: sessionKey,
    queryFn: async () => {
      try {
        return (await call(contract.access.session, {})).data
      } catch (error) {
        if (error instanceof ApiError && error.status === 401) return null
        throw error
      }
    },
  })

export const useHealth = () =>
  useQuery({ queryKey: ['health'], queryFn: async () => (await call(contract.instance.health, {})).data, staleTime: Infinity })

/** A call that ends or begins a session; what was known of the old one is forgotten. */
function useSessionChange<Input, Result>(change: (input: Input) => Promise<Result>) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: change,
    onSuccess: async () => {
      queries.clear()
      await queries.invalidateQueries()
    },
  })
}

export const useSignIn = () =>
  useSessionChange((body: { email: string; password: string }) => call(contract.access.login, { body }))
export const useSignOut = () => useSessionChange((_: undefined) => call(contract.access.logout, {}))
export const useSetup = () =>
  useSessionChange((body: { code: string; email: string; password: string; organization: string }) =>
    call(contract.access.setup, { body }),
  )
export const useCompleteSignUp = () =>
  useSessionChange((body: { code: string; email: string; password: string; organization: string }) =>
    call(contract.access.completeSignUp, { body }),
  )
export const useAcceptInvitation = () =>
  useSessionChange((body: { code: string; email: string; password: string; name?: string }) =>
    call(contract.access.acceptInvitation, { body }),
  )
