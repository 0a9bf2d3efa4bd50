import { Anchor, type AnchorProps, Button, type ButtonProps } from '@mantine/core'
import { createLink } from '@tanstack/react-router'
import { forwardRef } from 'react'

const LinkAnchor = forwardRef<HTMLAnchorElement, AnchorProps>((props, ref) => <Anchor ref={ref} {...props} />)
const LinkShapedButton = forwardRef<HTMLAnchorElement, ButtonProps>((props, ref) => <Button component="a" ref={ref} {...props} />)

/** A link inside the dashboard, in Mantine's look. */
export const RouterLink = createLink(LinkAnchor)
/** A link that looks like a button. */
export const ButtonLink = createLink(LinkShapedButton)
