import { ActionIcon, UnstyledButton } from '@mantine/core'
import { IconMenu2, IconSearch } from '@tabler/icons-react'
import { AccountMenu } from './account-menu.tsx'
import { Bell } from './bell.tsx'
import { openCommands } from './command-state.ts'
import classes from './top-bar.module.css'

export function TopBar({ onMenu }: { onMenu(): void }) {
  return (
    <header className={classes.bar}>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="lg"
        className={classes.menu}
        onClick={onMenu}
        aria-label="Open the navigation"
      >
        <IconMenu2 size={20} />
      </ActionIcon>
      <UnstyledButton className={classes.search} onClick={openCommands} aria-keyshortcuts="/ Control+K">
        <IconSearch size={16} aria-hidden />
        <span>Search or go to…</span>
        <kbd aria-hidden>/</kbd>
      </UnstyledButton>
      <div className={classes.right}>
        <Bell />
        <AccountMenu />
      </div>
    </header>
  )
}
