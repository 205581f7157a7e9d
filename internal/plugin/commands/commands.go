// Package commands lists the commands of the plugin that have their own packages.
package commands

import (
	"github.com/millwright-dev/millwright/internal/plugin"
	"github.com/millwright-dev/millwright/internal/plugin/migrate"
	"github.com/millwright-dev/millwright/internal/plugin/period"
	"github.com/millwright-dev/millwright/internal/plugin/stop"
	"github.com/millwright-dev/millwright/internal/plugin/top"
	"github.com/millwright-dev/millwright/internal/plugin/ui"
)

// More has these commands.
var More = []plugin.Command{top.Command, ui.Command, period.Command, migrate.Command, stop.Stop, stop.Resume}
