import { Progress, Text } from '@mantine/core'
import { share } from '../rules/backup-actions.ts'
import { sizeText } from '../text/sizes.ts'

interface Props {
  label: string
  done: number
  total: number | null
  perSecond?: number
}

/** How far a long work has come; where the whole is not known it only moves. */
export function ByteBar({ label, done, total, perSecond }: Props) {
  const percent = share(done, total)
  return (
    <div style={{ minWidth: '9rem' }}>
      <Progress
        value={percent ?? 100}
        animated={percent === null}
        size="sm"
        aria-label={`${label}, ${percent === null ? 'under way' : `${Math.round(percent)} percent`}`}
      />
      <Text size="xs" c="dimmed" mt={2}>
        {sizeText(done)}
        {total !== null && ` of ${sizeText(total)}`}
        {perSecond ? ` · ${sizeText(perSecond)}/s` : ''}
      </Text>
    </div>
  )
}
