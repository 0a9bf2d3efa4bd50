import { createTheme } from '@mantine/core'

export const theme = createTheme({ primaryColor: 'blue', defaultRadius: 'md', cursorType: 'pointer' })
