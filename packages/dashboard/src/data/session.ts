import { contract } from '@berth/contract'
import { ApiError } from '@berth/contract/client'
import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { activeOrganization } from './active-organization.ts'
import { call } from './client.ts'
import { createPasskey, signWithPasskey } from './passkey.ts'
import { keyOf } from './query-key.ts'
import { refresh } from './refresh.ts'
import { wasSignedIn } from './was-signed-in.ts'

/** The session, or null without a signed-in user. */
export const sessionQuery = queryOptions({
  queryKey: keyOf(contract.access.session),
  staleTime: 30_000,
  queryFn: async () => {
    const session = await readSession()
    wasSignedIn.set(session !== null)
    return session
  },
})

async function readSession() {
  try {
    return (await call(contract.access.session, {})).data
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.status === 401) return null
    // The selected organisation was deleted, or the user is no longer a member.
    if (!activeOrganization.get() || error.status >= 500) throw error
    activeOrganization.set(null)
    return (await call(contract.access.session, {})).data
  }
}

export const useSession = () => useQuery(sessionQuery)

export const useHealth = () =>
  useQuery({
    queryKey: keyOf(contract.instance.health),
    queryFn: async () => (await call(contract.instance.health, {})).data,
    staleTime: Number.POSITIVE_INFINITY,
  })

/** A call that ends or begins a session; all cached data of the old session is dropped. */
function useSessionChange<Input, Result>(change: (input: Input) => Promise<Result>) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: change,
    onSuccess: async () => {
      activeOrganization.set(null)
      await queries.resetQueries()
    },
  })
}

export const useSignIn = () =>
  useSessionChange((body: { email: string; password: string; code?: string }) => call(contract.access.login, { body }))

export const useSignInWithPasskey = () =>
  useSessionChange(async (_: undefined) => {
    const { data } = await call(contract.access.passkeyOptions, {})
    const credential = await signWithPasskey(data)
    return call(contract.access.signInWithPasskey, { body: { credential } })
  })

/** Ends the session. Its data is dropped without a refetch: without a session each read of the page that closes would be a 401. */
export function useSignOut() {
  const queries = useQueryClient()
  const isOfSession = ({ queryKey }: { queryKey: readonly unknown[] }) => queryKey[0] === contract.access.session.at
  return useMutation({
    mutationFn: (_: undefined) => call(contract.access.logout, {}),
    onSuccess: async () => {
      activeOrganization.set(null)
      wasSignedIn.set(false)
      await queries.cancelQueries()
      queries.setQueryData(sessionQuery.queryKey, null)
      queries.removeQueries({ predicate: (query) => !isOfSession(query) })
    },
  })
}

export const useSetup = () =>
  useSessionChange((body: { code: string; email: string; password: string; organization: string }) =>
    call(contract.access.setup, { body }),
  )
export const useCompleteSignUp = () =>
  useSessionChange((body: { code: string; email: string; password: string; organization: string }) =>
    call(contract.access.completeSignUp, { body }),
  )
export const useAcceptInvitation = () =>
  useSessionChange((body: { code: string; email: string; password: string; name?: string; secondFactor?: string }) =>
    call(contract.access.acceptInvitation, { body }),
  )

/** Creates a passkey on the user's device and adds it to the account. */
export function useAddPasskey() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async ({ name, ...proof }: { name: string; currentPassword: string; code?: string }) => {
      const { data } = await call(contract.access.beginPasskey, { body: proof })
      return call(contract.access.addPasskey, { body: { name, credential: await createPasskey(data) } })
    },
    onSuccess: () => refresh(queries, contract.access.listPasskeys),
  })
}
