package run

import (
	"flag"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	"k8s.io/klog/v2"

	"github.com/millwright-dev/millwright/internal/runtime/version"
)

// LogFlags are the logging flags once they are parsed.
type LogFlags struct{ config *logsapi.LoggingConfiguration }

// AddLogFlags binds the logging flags of Kubernetes: --v and related flags, --log-flush-frequency,
// --logging-format, and the former flags of klog.
func AddLogFlags(fs *pflag.FlagSet) *LogFlags {
	l := &LogFlags{logsapi.NewLoggingConfiguration()}
	logsapi.AddFlags(l.config, fs)
	var before flag.FlagSet
	klog.InitFlags(&before)
	before.VisitAll(func(f *flag.Flag) {
		if fs.Lookup(f.Name) == nil && f.Name != "v" {
			old := pflag.PFlagFromGoFlag(f)
			old.Hidden = true
			fs.AddFlag(old)
		}
	})
	return l
}

// AddVersion gives a program the command "version" and the flag --version.
func AddVersion(c *cobra.Command) { version.AddTo(c) }

// Apply configures logging by the flags. It may be called once in a process.
func (l *LogFlags) Apply() error {
	if err := logsapi.ValidateAndApply(l.config, nil); err != nil {
		return fmt.Errorf("--logging-format, --v: %w", err)
	}
	return nil
}
