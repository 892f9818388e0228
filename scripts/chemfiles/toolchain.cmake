# How chemfiles is built (.cargo/config.toml names this file): without gemmi, which only reads CIF files, and as project.cmake says.
set(CHFL_DISABLE_GEMMI ON CACHE BOOL "")
set(CMAKE_PROJECT_chemfiles_INCLUDE "${CMAKE_CURRENT_LIST_DIR}/project.cmake" CACHE FILEPATH "")
