package run

import (
	"flag"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
)

// AddLogFlags binds the logging flags (--v and its kin).
func AddLogFlags(fs *pflag.FlagSet) {
	var goFlags flag.FlagSet
	klog.InitFlags(&goFlags)
	fs.AddGoFlagSet(&goFlags)
}
