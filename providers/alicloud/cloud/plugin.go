package cloud

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
	"github.com/millwright-dev/millwright/serve"
)

// Plugin is the provider, to be served.
func Plugin() serve.Plugin {
	var o Options
	return serve.Plugin{
		Name: "alicloud",
		AddFlags: func(fs *pflag.FlagSet) {
			fs.StringVar(&o.Endpoint, "alicloud-endpoint", "", "URL that replaces the endpoints of Alibaba Cloud: of a simulator, or of a proxy for all services")
		},
		New: func(_ context.Context, e serve.Env) (provider.Provider, error) {
			o.Clock = e.Clock
			return New(o), nil
		},
		Limits: limits,
	}
}

// limits leave room for other clients of the account. ECS limits the calls of each operation; if it
// throttles, the limit adapts.
var limits = decorate.Limits{PerSecond: 10, Burst: 50, Writes: &decorate.Limits{PerSecond: 3, Burst: 20}}
