package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
	nodefast "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	nodelease "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
	podfast "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"
)

// stages is how fake nodes and pods live when nothing else is asked for: a node gets ready at once and renews its
// lease, a pod runs, completes when it is a job's and goes when deleted.
func stages() string {
	return strings.Join([]string{
		nodefast.DefaultNodeInit,
		nodelease.DefaultNodeHeartbeatWithLease,
		podfast.DefaultPodReady,
		podfast.DefaultPodComplete,
		podfast.DefaultPodDelete,
	}, "\n---\n")
}

func printStages() int {
	fmt.Println(stages())
	return 0
}

// runKwok starts kwok with the stages above unless the arguments name a configuration, because kwok without stages
// refuses to start.
func runKwok() int {
	if err := defaultStages(); err != nil {
		return fail("kwok: handing over the default stages", err)
	}
	// cobra would add the flags that the other components' packages register here, and refuse their --version, no boolean.
	pflag.CommandLine = pflag.NewFlagSet("kwok", pflag.ExitOnError)
	ctx := signals.SetupSignalContext()
	flags := pflag.NewFlagSet("global", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	ctx, _ = log.InitFlags(ctx, flags)
	ctx, err := config.InitFlags(ctx, flags)
	if err != nil {
		return fail("kwok: reading the configuration", err)
	}
	command := kwok.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(flags)
	if err := command.ExecuteContext(ctx); err != nil {
		return fail("kwok", err)
	}
	return 0
}

// defaultStages passes the stages on standard input ("--config -"), so that no file is left behind. About 10 KB: less
// than the 64 KiB that a pipe holds without a reader.
func defaultStages() error {
	for _, arg := range os.Args[1:] {
		if arg == "-c" || arg == "--config" || strings.HasPrefix(arg, "--config=") {
			return nil
		}
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return err
	}
	if _, err := writer.WriteString(stages()); err != nil {
		return err
	}
	if err := writer.Close(); err != nil {
		return err
	}
	os.Stdin = reader
	os.Args = append(os.Args, "--config=-")
	return nil
}

func fail(doing string, err error) int {
	fmt.Fprintf(os.Stderr, "%s: %v\n", doing, err)
	return 1
}
