import { IconPlus } from '@tabler/icons-react'
import { ActionButton } from './action-button.tsx'

/** Opens the form of a section that adds an entry. */
export const AddButton = ({ refusal, onClick }: { refusal: string | undefined; onClick(): void }) => (
  <ActionButton size="xs" variant="default" refusal={refusal} leftSection={<IconPlus size={14} />} onClick={onClick}>
    Add…
  </ActionButton>
)
