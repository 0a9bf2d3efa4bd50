import { type CSSVariablesResolver, createTheme } from '@mantine/core'

export const theme = createTheme({
  primaryColor: 'harbour',
  // White text on these shades has a contrast of at least 4.5.
  primaryShade: { light: 7, dark: 7 },
  colors: {
    harbour: ['#eef6fc', '#d9e9f5', '#b0d2ea', '#84b9df', '#61a5d6', '#4b98d1', '#2f7fbd', '#1f6aa3', '#14588c', '#0c4468'],
    dark: ['#d7dde3', '#b6bec6', '#959da5', '#6b747c', '#464e55', '#353c43', '#1d2227', '#171b1f', '#111417', '#0c0f11'],
  },
  defaultRadius: 'md',
  // Mantine's default is capital letters in badges.
  components: {
    Badge: { defaultProps: { tt: 'none', fw: 500 } },
    Button: { defaultProps: { fw: 500 } },
    // Without this role, screen readers announce a dialog's header as the banner of the page.
    Modal: { defaultProps: { attributes: { header: { role: 'presentation' } }, styles: { title: { fontWeight: 600 } } } },
  },
  cursorType: 'pointer',
  fontFamily: '"Inter Variable", ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace',
  headings: { fontWeight: '600' },
})

/** Mantine's own dimmed and placeholder greys are too faint for small text. */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: { '--berth-content-width': '72rem' },
  light: {
    '--mantine-color-dimmed': '#5b636b',
    '--mantine-color-placeholder': '#6b737b',
    '--mantine-color-body': '#ffffff',
    '--mantine-color-error': '#c92a2a',
    '--mantine-color-red-filled': '#c92a2a',
    '--mantine-color-red-filled-hover': '#b02525',
    '--mantine-color-red-outline': '#c92a2a',
    '--mantine-color-red-light-color': '#a01c1c',
    '--mantine-color-yellow-light-color': '#6f3f00',
    '--mantine-color-teal-light-color': '#055a40',
    '--berth-surface': '#ffffff',
    '--berth-sunken': '#f6f7f9',
    '--berth-line': '#e3e6ea',
    '--mantine-color-anchor': '#1f6aa3',
  },
  dark: {
    '--mantine-color-dimmed': '#a2a9b0',
    '--mantine-color-placeholder': '#8d949b',
    '--mantine-color-body': '#111417',
    '--mantine-color-error': '#ff8787',
    '--mantine-color-red-filled': '#c92a2a',
    '--mantine-color-red-filled-hover': '#b02525',
    '--mantine-color-red-light': '#35171a',
    '--mantine-color-red-light-color': '#ffb3b3',
    '--mantine-color-yellow-light': '#2f2410',
    '--mantine-color-yellow-light-color': '#ffd98a',
    '--mantine-color-default': '#1a1e22',
    '--mantine-color-default-hover': '#22272c',
    '--mantine-color-default-border': '#343a40',
    '--berth-surface': '#171b1f',
    '--berth-sunken': '#0c0f11',
    '--berth-line': '#2a3036',
    '--mantine-color-anchor': '#84b9df',
  },
})
