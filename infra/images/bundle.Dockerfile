# An agent whose bundle is over the 250 MB of a zip. It lies in the bundle as `Dockerfile`, so the bundle is the whole build context:
#   python -m infra.bundle claudeAgent && docker build --platform linux/arm64 --provenance=false build/claudeAgent
# Nothing is run while it is built: any machine can build it for ARM.
FROM public.ecr.aws/lambda/python:3.13-arm64
COPY . /var/task/
WORKDIR /var/task
# what the exec wrapper does for a zip; an image needs none
ENTRYPOINT ["/var/lang/bin/python3.13", "-m", "functions.runtime"]
