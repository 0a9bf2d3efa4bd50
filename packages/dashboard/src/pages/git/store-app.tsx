import { contract } from '@berth/contract'
import { Alert, Loader } from '@mantine/core'
import { useEffect, useRef } from 'react'
import { ErrorState } from '../../components/error-state.tsx'
import { useChange } from '../../data/change.ts'

interface Props {
  code: string
  state: string
}

/** The return from GitHub with a new app: stores it, then continues to the page where it is installed. */
export function StoreApp({ code, state }: Props) {
  const convert = useChange(contract.gitHost.convertManifest, {
    hidesErrorNotice: true,
    refreshes: [contract.gitHost.listApplications],
  })
  const { mutate } = convert
  const isSent = useRef(false)
  useEffect(() => {
    if (isSent.current) return
    isSent.current = true
    // The code is valid once: a reload must not send it again.
    window.history.replaceState(window.history.state, '', '/git')
    mutate({ body: { code, state } }, { onSuccess: ({ data }) => window.location.assign(data.installUrl) })
  }, [code, state, mutate])
  if (convert.error) return <ErrorState error={convert.error} />
  return (
    <Alert role="status" title="GitHub has created the app" icon={<Loader size="xs" />}>
      Berth stores its settings, then GitHub asks where to install it.
    </Alert>
  )
}
