import { contract } from '@berth/contract'
import { ActionIcon, Text, UnstyledButton, useMantineColorScheme } from '@mantine/core'
import { IconCheck, IconDeviceDesktop, IconLogout, IconMoon, IconSun, IconUserCircle } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, useRef } from 'react'
import { activeOrganization } from '../data/active-organization.ts'
import { useRead } from '../data/read.ts'
import { useSession, useSignOut } from '../data/session.ts'
import classes from './account-menu.module.css'

const schemes = [
  ['auto', 'System theme', IconDeviceDesktop],
  ['light', 'Light', IconSun],
  ['dark', 'Dark', IconMoon],
] as const

const menuId = 'account-menu'

/** The signed-in user, their organisations, the colour scheme, and sign out. A native popover: Escape closes it. */
export function AccountMenu() {
  const session = useSession().data
  const signOut = useSignOut()
  const menu = useRef<HTMLDivElement>(null)
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  if (!session) return null
  const close = () => menu.current?.hidePopover()
  return (
    <>
      <ActionIcon variant="subtle" color="gray" size="lg" aria-label={`Account of ${session.user.email}`} popoverTarget={menuId}>
        <IconUserCircle size={22} stroke={1.6} />
      </ActionIcon>
      <div ref={menu} id={menuId} popover="auto" className={classes.menu}>
        <Text size="sm" px="sm" className="wrap-anywhere">
          {session.user.email}
        </Text>
        <Text size="xs" px="sm" pb={6} c="dimmed">
          {session.role} of {session.organization.name}
        </Text>
        <Organisations current={session.organization.id} onChosen={close} />
        <hr />
        {schemes.map(([scheme, label, Picture]) => (
          <Entry
            key={scheme}
            icon={<Picture size={16} />}
            isChosen={colorScheme === scheme}
            onClick={() => setColorScheme(scheme)}
          >
            {label}
          </Entry>
        ))}
        <hr />
        <Entry icon={<IconLogout size={16} />} onClick={() => signOut.mutate(undefined)}>
          Sign out
        </Entry>
      </div>
    </>
  )
}

interface EntryProps {
  icon?: ReactNode
  isChosen?: boolean
  onClick(): void
  children: ReactNode
}

const Entry = ({ icon, isChosen, onClick, children }: EntryProps) => (
  <UnstyledButton className={classes.entry} onClick={onClick} aria-pressed={isChosen}>
    {icon}
    <span>{children}</span>
    {isChosen && <IconCheck size={14} aria-hidden />}
  </UnstyledButton>
)

function Organisations({ current, onChosen }: { current: string; onChosen(): void }) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const { data: organizations = [] } = useRead(contract.access.listOrganizations, { query: {} })
  if (organizations.length < 2) return null
  const switchTo = async (id: string) => {
    onChosen()
    activeOrganization.set(id)
    await navigate({ to: '/' })
    await queries.resetQueries()
  }
  return (
    <>
      <hr />
      {organizations.map(({ id, name }) => (
        <Entry key={id} isChosen={id === current} onClick={() => void switchTo(id)}>
          {name}
        </Entry>
      ))}
    </>
  )
}
