import { contract } from '@berth/contract'
import { Alert, Code } from '@mantine/core'
import { useLocalStorage } from '@mantine/hooks'
import { useRead } from '../../data/read.ts'
import { useSession } from '../../data/session.ts'

/** Tells operators of a newer version, until they dismiss that version in this browser. */
export function VersionNotice() {
  const isOperator = useSession().data?.operator ?? false
  const [dismissed, setDismissed] = useLocalStorage({
    key: 'berth.dismissed-version',
    defaultValue: '',
    getInitialValueInEffect: false,
  })
  const { data } = useRead(
    contract.instance.version,
    {},
    {
      isEnabled: isOperator,
      // The first read starts the check; a later one has its result.
      refetchIntervalMs: (version) => (version?.isChecked && version.checkedAt === null ? 10_000 : false),
    },
  )
  if (!data?.newest || data.newest === dismissed) return null
  const { version, newest } = data
  return (
    <Alert
      color="harbour"
      title={`Berth ${newest} is available`}
      withCloseButton
      closeButtonLabel="Dismiss"
      onClose={() => setDismissed(newest)}
    >
      This instance runs {version}. Upgrade it on its machine with <Code>berth upgrade</Code>. Projects keep running, and if the
      new version does not become healthy, the previous one starts again.
    </Alert>
  )
}
