// Command box is the development control plane in one file: etcd, kube-apiserver, kube-controller-manager,
// kube-scheduler, kubectl, kwok, kubelet and a hollow kubelet. It is the component whose name it is called by, through a link of
// that name or as its first argument.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	_ "time/tzdata" // time zones of CronJobs on machines without a zone database

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics of every component
	_ "k8s.io/component-base/metrics/prometheus/version"  // the version metric of every component
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"

	"github.com/millwright-dev/millwright/dev/hollow"
)

// applet runs one component with os.Args and returns the exit code.
type applet func() int

// applets is looked up once: several components may not be constructed in the same process.
func applets() map[string]applet {
	return map[string]applet{
		"etcd":                    func() int { etcdmain.Main(os.Args); return 0 },
		"kube-apiserver":          func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
		"kube-controller-manager": func() int { return cli.Run(controllermanager.NewControllerManagerCommand()) },
		"kube-scheduler":          func() int { return cli.Run(scheduler.NewSchedulerCommand()) },
		"kubectl":                 runKubectl,
		"kwok":                    runKwok,
		"kwok-stages":             printStages,
		"kubelet":                 func() int { return cli.Run(kubelet.NewKubeletCommand(context.Background())) },
		"hollow":                  hollow.Main,
	}
}

func main() {
	known := applets()
	if run, ok := known[filepath.Base(os.Args[0])]; ok {
		os.Exit(run())
	}
	if len(os.Args) > 1 {
		if run, ok := known[os.Args[1]]; ok {
			os.Args = os.Args[1:]
			os.Exit(run())
		}
	}
	var names []string
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	fmt.Fprintf(os.Stderr, "usage: box COMPONENT [arguments]\ncomponents: %s\n", strings.Join(names, ", "))
	os.Exit(2)
}
