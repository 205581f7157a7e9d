// Package version returns the version of Millwright of a program.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// release is set by the linker in releases: "v1.2.3".
var release string

// String returns the version, the commit and the build environment: "v1.2.3 (0123456789ab, go1.26.0,
// linux/amd64)". Builds other than releases are "devel", and a commit with local changes has a "+".
func String() string {
	info, _ := debug.ReadBuildInfo()
	return of(release, info)
}

func of(release string, info *debug.BuildInfo) string {
	if release == "" {
		release = "devel"
	}
	return fmt.Sprintf("%s (%s, %s, %s/%s)", release, commit(info), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func commit(info *debug.BuildInfo) string {
	revision, changed := "no commit", ""
	if info == nil {
		return revision
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+"
		}
	}
	return revision + changed
}

// AddTo gives a program the command "version" and the flag --version.
func AddTo(c *cobra.Command) {
	c.Version = String()
	c.AddCommand(&cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), c.Root().Name(), String())
			return err
		},
	})
}
