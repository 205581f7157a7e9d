// multi: every control-plane and node component in one binary, chosen by argv[0] or argv[1]
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	_ "time/tzdata"

	"github.com/millwright-dev/millwright/dev/hollow"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	kcm "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kwokcmd "sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/config"
	"sigs.k8s.io/kwok/pkg/log"
)

func main() {
	name := filepath.Base(os.Args[0])
	known := map[string]func(){
		"etcd":                    func() { etcdmain.Main(os.Args) },
		"kube-apiserver":          func() { os.Exit(cli.Run(apiserver.NewAPIServerCommand())) },
		"kube-controller-manager": func() { os.Exit(cli.Run(kcm.NewControllerManagerCommand())) },
		"kube-scheduler":          func() { os.Exit(cli.Run(scheduler.NewSchedulerCommand())) },
		"kubectl":                 func() { os.Exit(cli.Run(cmd.NewDefaultKubectlCommand())) },
		"hollow":                  hollow.Main,
		"kwok": func() {
			fs := pflag.NewFlagSet("global", pflag.ContinueOnError)
			fs.ParseErrorsAllowlist.UnknownFlags = true
			ctx, _ := log.InitFlags(context.Background(), fs)
			ctx, err := config.InitFlags(ctx, fs)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			c := kwokcmd.NewCommand(ctx)
			c.PersistentFlags().AddFlagSet(fs)
			if err := c.ExecuteContext(ctx); err != nil {
				os.Exit(1)
			}
		},
	}
	f, ok := known[name]
	if !ok && len(os.Args) > 1 {
		f, ok = known[os.Args[1]]
		os.Args = os.Args[1:]
	}
	if !ok {
		fmt.Fprintln(os.Stderr, "usage: multi COMPONENT args...")
		os.Exit(2)
	}
	f()
}
